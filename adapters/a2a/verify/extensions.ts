// Extensions that a request activates: what it names and we know. Required ones must be named.
import { createFault, type Fault } from '../wire/faults.ts'
import type { Dialect } from '../wire/operations.ts'

export type Extensions = { readonly active: readonly string[]; readonly headers: Readonly<Record<string, string>> }

export function readExtensions(
  headers: Headers,
  dialect: Dialect,
  { known, required }: { readonly known: readonly string[]; readonly required: readonly string[] },
): Extensions | Fault {
  const names = dialect === '1.0' ? ['A2A-Extensions'] : ['X-A2A-Extensions', 'A2A-Extensions']
  const spelling = names.find((name) => headers.has(name)) ?? names[0] ?? ''
  const asked = new Set((headers.get(spelling) ?? '').split(',').map((uri) => uri.trim()))
  const missing = required.filter((uri) => !asked.has(uri))
  if (missing.length > 0) {
    const message = `this agent requires the extension ${missing.join(', ')}; name it in ${spelling}`
    return createFault('extension_required', message, { metadata: { requiredExtensions: missing.join(', ') } })
  }
  const active = known.filter((uri) => asked.has(uri))
  return { active, headers: active.length === 0 ? {} : { [spelling]: active.join(', ') } }
}
