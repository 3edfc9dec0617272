// Names of tools as models are shown them. Providers take 64 letters, digits, _ and -; ours are `namespace/name`, so every
// tool has a second spelling, made of its name alone: the same after a restart, and never that of another tool.

import { isPlainObject } from '../../lib/index.ts'
import type { Fields } from '../../lib/json-value.ts'
import type { ToolDeclaration } from './tool.ts'

const maxProviderName = 64

const allowed = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/

/**
 * `files/read_file` is `files__read_file`. Where the way back would not be clear (`a__b/c` and `a/b__c`), or the spelling too
 * long, a fingerprint of the whole name ends it; its capital letter keeps it apart from every name that needs none.
 */
export function toProviderSafeName(name: string): string {
  const safe = name.replace('/', '__')
  const hasOneReading = name.includes('/') && !/___|[A-Z]/.test(safe) && safe.split('__').length === 2
  if (hasOneReading && isProviderSafeName(safe)) return safe
  const end = `_X${hashFnv1a(name)}`
  const readable = name.replace(/[^A-Za-z0-9-]+/g, '_').replace(/^[^A-Za-z]+/, '')
  return `${(readable === '' ? 'tool' : readable).slice(0, maxProviderName - end.length)}${end}`
}

export function isProviderSafeName(name: unknown): name is string {
  return typeof name === 'string' && allowed.test(name)
}

/** FNV-1a in 64 bits, in hex: tells names apart, keeps nothing secret. */
export function hashFnv1a(text: string): string {
  let hash = 0xcbf29ce484222325n
  for (const byte of new TextEncoder().encode(text)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n)
  return hash.toString(16).padStart(16, '0')
}

// Client tools may have any name. Here they are `client/…` in the letters that our names have, and what the caller declared stays
// beside it, so that it is called by its own word again.

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
export function readDeclaredName(tool: Pick<ToolDeclaration, 'name'> | Fields | undefined): string | undefined {
  const own = (tool as Fields | undefined)?.['declared_name']
  return typeof own === 'string' && own !== '' ? own : undefined
}

/** As events and transcript lines carry it. */
export function declaredNameField(tool: Pick<ToolDeclaration, 'name'> | undefined): {
  readonly declared_name?: string
} {
  const own = readDeclaredName(tool)
  return own === undefined ? {} : { declared_name: own }
}

/** What a model calls it: close to the caller's own word, and nothing that a tool of the agent could be called. */
export function clientToolProviderName(name: string, own: string): string {
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
  return `${words.slice(0, 32) || 'tool'}-${hashFnv1a(own).slice(0, 8)}`
}
