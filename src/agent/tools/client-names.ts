// Names of tools that a caller runs itself. It may call them what it likes; here they are `client/…` in the letters that our
// names have, and what the caller declared stays beside it, so that it is called by its own word again.
import type { Fields } from '../../contract/index.ts'
import { isPlainObject } from '../fields.ts'
import { fingerprint } from './provider-names.ts'
import type { ToolDeclaration } from './tool.ts'

/** Longer ones are left out: providers take 64 characters, and a name is copied into every line about its calls. */
export const maxDeclaredName = 256

const plainName = /^[a-z][a-z0-9_-]{0,47}$/
const prefix = 'client/'

/**
 * Every declaration under a name of ours. The same name is always mapped the same, so that a run that goes on after a crash or a
 * pause finds its tools again; two names of one list never share one.
 */
export function nameClientTools(declared: readonly unknown[]): readonly unknown[] {
  const owners = new Map<string, string>()
  return declared.map((tool) => {
    if (!isPlainObject(tool) || typeof tool['name'] !== 'string') return tool
    const own = tool['name']
    const base = clientToolName(own)
    let name = base
    for (let more = 2; owners.has(name) && owners.get(name) !== own; more += 1) name = `${base}-${more}`
    owners.set(name, own)
    return { ...tool, name: `${prefix}${name}`, declared_name: own }
  })
}

/** What its caller calls a tool; undefined: it is not a caller's. */
export function declaredName(tool: Pick<ToolDeclaration, 'name'> | Fields | undefined): string | undefined {
  const own = (tool as Fields | undefined)?.['declared_name']
  return typeof own === 'string' && own !== '' ? own : undefined
}

/** As events and transcript lines carry it. */
export function declaredAs(tool: Pick<ToolDeclaration, 'name'> | undefined): { readonly declared_name?: string } {
  const own = declaredName(tool)
  return own === undefined ? {} : { declared_name: own }
}

/** What a model calls it: close to the caller's own word, and nothing that a tool of the agent could be called. */
export function clientProviderName(name: string, own: string): string {
  const mapped = name.slice(prefix.length)
  const word = /^[A-Za-z0-9_-]{1,48}$/.test(own) && mapped === clientToolName(own) ? own : mapped
  return `client__${word}`
}

function clientToolName(own: string): string {
  const bare = own.startsWith(prefix) ? own.slice(prefix.length) : own
  if (plainName.test(bare)) return bare
  const words = bare
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, '_')
    .replace(/^[^a-z]+/, '')
  return `${words.slice(0, 32) || 'tool'}-${fingerprint(own).slice(0, 8)}`
}
