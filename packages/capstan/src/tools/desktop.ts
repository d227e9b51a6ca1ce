/** capstan/tools/desktop: the user's own desktop as tools. */

export { DESKTOP_LIMITS, desktopTools } from "@capstan/tools/desktop";
