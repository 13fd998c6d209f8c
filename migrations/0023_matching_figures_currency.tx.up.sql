-- Currencies are checked in every table.

alter table matching_figures add constraint matching_figures_currency_check check (currency ~ '^[A-Z]{3}$');
