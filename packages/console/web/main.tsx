/** The console in the page. */

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "./style.css";
import { App } from "./view/app.tsx";
import { applyTheme } from "./view/theme.ts";

applyTheme();
const place = document.getElementById("app");
if (place !== null)
  createRoot(place).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
