// What the server wrote into the document of the page.
export interface Config {
	issuer: string;
	authorization: string;
	token: string;
	client: string;
	scope: string;
	operator_scope: string;
	params: Record<string, string>;
	rehearsal: boolean;
}

export const config: Config = JSON.parse(document.body.dataset.config ?? "{}");
export const base = "/console";
