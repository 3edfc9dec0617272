// Media types: of the request, of the answer it wants, and of parts against what an agent takes.
import { createFault, type Fault } from '../protocol/faults.ts'
import type { Dialect } from '../protocol/operations.ts'

const jsonTypes = ['application/json', 'application/a2a+json'] as const

export type JsonType = (typeof jsonTypes)[number]

/** The type without its parameters, in small letters. */
function bareType(header: string | undefined): string {
  return (header ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
}

export function parseJsonType(header: string | undefined): JsonType | undefined {
  const bare = bareType(header)
  return jsonTypes.find((type) => type === bare)
}

/** What the caller wrote in, else what it asks for first, else plain JSON. */
export function answerType(contentType: string | undefined, accept: string | undefined): JsonType {
  const written = parseJsonType(contentType)
  if (written !== undefined) return written
  const asked = (accept ?? '').split(',').map((entry) => parseJsonType(entry))
  return asked.find((type) => type !== undefined) ?? 'application/json'
}

/** A whole type, a family (`image/*`), or anything. */
export function isTypeAmong(type: string, accepted: readonly string[]): boolean {
  const bare = bareType(type)
  const family = `${bare.split('/')[0]}/*`
  return accepted.some((each) => {
    const known = bareType(each)
    return known === '*/*' || known === '*' || known === bare || known === family
  })
}

/** Whether two lists can meet, wildcards on either side. */
export function doTypesMeet(wanted: readonly string[], offered: readonly string[]): boolean {
  return wanted.some((type) => isTypeAmong(type, offered) || offered.some((offer) => isTypeAmong(offer, [type])))
}

// Which version of the protocol a request speaks: by header, else by query; nothing said means 0.3.

const versionName = 'A2A-Version'

export function readVersion(request: Request, supported: readonly Dialect[]): Dialect | Fault {
  const header = request.headers.get(versionName)
  const asked = (header ?? new URL(request.url).searchParams.get(versionName) ?? '').trim()
  const [, major, minor] = /^(\d{1,3})\.(\d{1,3})(?:\.\d{1,3})?$/.exec(asked === '' ? '0.3' : asked) ?? []
  const found = supported.find((version) => version === `${major}.${minor}`)
  if (found !== undefined) return found
  const said = asked === '' ? `no ${versionName}, which means 0.3` : `${versionName} ${asked.slice(0, 16)}`
  const message = `${said}, is not supported here; send ${versionName} with one of: ${supported.join(', ')}`
  return createFault('version_not_supported', message, { metadata: { supportedVersions: supported.join(', ') } })
}

// Extensions that a request activates: what it names and we know. Required ones must be named.

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
