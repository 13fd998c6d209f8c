import { render } from "preact";
import { Provider } from "urql";
import { Router } from "wouter";
import { client } from "./api";
import { base } from "./config";
import { start } from "./session";
import { Shell } from "./shell";
import "./style.css";

const theme = localStorage.getItem("parapet.theme");
if (theme && theme !== "auto") document.documentElement.dataset.theme = theme;

void start();
render(<Provider value={client}><Router base={base}><Shell /></Router></Provider>, document.getElementById("app")!);
