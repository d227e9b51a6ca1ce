/** How the console becomes files: paths relative to the page, nothing inline, so that a strict policy holds. */

import tailwind from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import type { UserConfig } from "vite";

const config: UserConfig = {
  root: import.meta.dirname,
  base: "./",
  publicDir: "public",
  plugins: [react(), tailwind()],
  // text of a model is never read as HTML: what would do that is not part of the page
  resolve: { alias: { "rehype-raw": `${import.meta.dirname}/view/no-html.ts` } },
  build: { target: "es2023", assetsInlineLimit: 0, modulePreload: { polyfill: false }, reportCompressedSize: false },
};

export default config;
