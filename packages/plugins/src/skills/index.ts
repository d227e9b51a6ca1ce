/** Skills: folders of instructions that the model reads when a task calls for them (agentskills.io). */

export type { ActiveSkill } from "./active-skills.ts";
export { loadSkills, type LoadSkillsOptions, type SkillFolder, type SkillSet } from "./load-skills.ts";
export { matchWords, type SkillInput, type SkillMatcher } from "./match-skills.ts";
export { parseSkill, type ParsedSkill, type SkillText } from "./parse-skill.ts";
export { type SessionSkills, skillsOf } from "./session-skills.ts";
export type { ActivationVia, DeactivationReason, SkillHooks } from "./skill-hooks.ts";
export type { InlineSkill, Skill, SkillDiagnostic, SkillDiagnosticCode, SkillSource } from "./skill.ts";
export { skills, type SkillsOptions } from "./skills-plugin.ts";
export { type DefinitionFolder, diskFolder, type DiskFolderOptions } from "../definition-folder.ts";
