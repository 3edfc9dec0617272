// What policies read off a declaration.
import { textsOf } from '../fields.ts'
import type { ToolDeclaration } from '../tools/tool.ts'

const writeCategories = ['write', 'publishing', 'mutating', 'destructive']

export function categoriesOf(tool: ToolDeclaration): readonly string[] {
  const keys = ['category', 'ability_category', 'categories', 'ability_categories']
  return [...new Set(keys.flatMap((key) => textsOf(tool[key] ?? [])))]
}

export function modesOf(tool: ToolDeclaration): readonly string[] {
  return textsOf(tool['modes'] ?? tool['mode'] ?? [])
}

/** Declared for one run and executed by a client; shown only where policy names it. */
export function isRuntimeTool(tool: ToolDeclaration): boolean {
  return tool['runtime_tool'] === true || tool.executor === 'client'
}

export function isWriteTool(tool: ToolDeclaration): boolean {
  if (tool['write'] === true || tool['mutating'] === true) return true
  return categoriesOf(tool).some((category) => writeCategories.includes(category))
}
