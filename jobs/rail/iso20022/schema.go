package iso20022

import "encoding/xml"

// The part of pain.001.001.09 that we write, in the order of its sequences.
type (
	document struct {
		XMLName xml.Name    `xml:"Document"`
		Space   string      `xml:"xmlns,attr"`
		Header  groupHeader `xml:"CstmrCdtTrfInitn>GrpHdr"`
		Payment paymentInfo `xml:"CstmrCdtTrfInitn>PmtInf"`
	}
	groupHeader struct {
		MsgID   string `xml:"MsgId"`
		Created string `xml:"CreDtTm"`
		Count   string `xml:"NbOfTxs"`
		Sum     string `xml:"CtrlSum"`
		Party   party  `xml:"InitgPty"`
	}
	party struct {
		Name string   `xml:"Nm"`
		ID   *otherID `xml:"Id>OrgId>Othr"`
	}
	otherID struct {
		ID string `xml:"Id"`
	}
	paymentInfo struct {
		ID        string        `xml:"PmtInfId"`
		Method    string        `xml:"PmtMtd"`
		Booking   string        `xml:"BtchBookg"`
		Count     string        `xml:"NbOfTxs"`
		Sum       string        `xml:"CtrlSum"`
		Service   *serviceLevel `xml:"PmtTpInf>SvcLvl"`
		Date      string        `xml:"ReqdExctnDt>Dt"`
		Debtor    party         `xml:"Dbtr"`
		Account   accountID     `xml:"DbtrAcct"`
		Agent     agent         `xml:"DbtrAgt>FinInstnId"`
		Charges   string        `xml:"ChrgBr"`
		Transfers []transfer    `xml:"CdtTrfTxInf"`
	}
	serviceLevel struct {
		Code string `xml:"Cd"`
	}
	accountID struct {
		IBAN string `xml:"Id>IBAN"`
	}
	agent struct {
		BIC   string   `xml:"BICFI,omitempty"`
		Other *otherID `xml:"Othr"`
	}
	creditorAgent struct {
		BIC string `xml:"FinInstnId>BICFI"`
	}
	transfer struct {
		Instruction string           `xml:"PmtId>InstrId"`
		EndToEnd    string           `xml:"PmtId>EndToEndId"`
		Amount      instructedAmount `xml:"Amt>InstdAmt"`
		Agent       *creditorAgent   `xml:"CdtrAgt"`
		Creditor    creditor         `xml:"Cdtr"`
		Account     accountID        `xml:"CdtrAcct"`
		Remittance  string           `xml:"RmtInf>Ustrd"`
	}
	instructedAmount struct {
		Currency string `xml:"Ccy,attr"`
		Amount   string `xml:",chardata"`
	}
	creditor struct {
		Name    string `xml:"Nm"`
		Country string `xml:"PstlAdr>Ctry"`
	}
)

func optionalID(id string) *otherID {
	if id == "" {
		return nil
	}
	return &otherID{id}
}

func accountOf(iban string) accountID { return accountID{iban} }

func agentOf(bic string) agent {
	if bic == "" {
		return agent{Other: &otherID{"NOTPROVIDED"}}
	}
	return agent{BIC: bic}
}
