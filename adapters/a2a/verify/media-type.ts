// Media types: of the request, of the answer it wants, and of parts against what an agent takes.

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
