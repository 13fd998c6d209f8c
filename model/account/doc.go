// Package account validates bank account and wallet numbers before money is sent to them:
// lengths, check digits and formats of IBANs, United States bank accounts and mobile
// money wallets. The main types are Beneficiary, as the API shows it, and Number.
//
// Numbers are secrets. No problem, printed form or log value of this package contains
// one; only Canonical, Normalize and the JSON form do. The package is pure: it has no
// states and takes no locks. Start reading at account.go.
package account
