// What policies read off a declaration.
import { textList } from '../fields.ts'
import type { ToolDeclaration } from '../tools/tool.ts'

const writeCategories = ['write', 'publishing', 'mutating', 'destructive']

export function toolCategories(tool: ToolDeclaration): readonly string[] {
  const keys = ['category', 'ability_category', 'categories', 'ability_categories']
  return [...new Set(keys.flatMap((key) => textList(tool[key] ?? [])))]
}

export function toolModes(tool: ToolDeclaration): readonly string[] {
  return textList(tool['modes'] ?? tool['mode'] ?? [])
}

/** Declared for one run and executed by a client; shown only where policy names it. */
export function isRuntimeTool(tool: ToolDeclaration): boolean {
  return tool['runtime_tool'] === true || tool.executor === 'client'
}

export function isWriteTool(tool: ToolDeclaration): boolean {
  if (tool['write'] === true || tool['mutating'] === true) return true
  return toolCategories(tool).some((category) => writeCategories.includes(category))
}
