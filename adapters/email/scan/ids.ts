// Ids of mails, and of Exchange's threads: chosen by the sender of the mail, so only their form is believed.

const maxIds = 100
const id = /<([^<>@\s\p{C}]{1,250}@[^<>@\s\p{C}]{1,250})>/gu
/** Of Thread-Index, the part that all mails of a thread share. */
const threadBytes = 22

/** `local@domain`, without brackets; the last hundred where there are more. */
export function readIds(value: string): readonly string[] {
  const ids = [...value.matchAll(id)].flatMap(([, found]) => found ?? [])
  return ids.slice(-maxIds)
}

export function readId(value: string): string | undefined {
  const ids = readIds(value)
  return ids.length === 1 && `<${ids[0]}>` === value ? ids[0] : undefined
}

/** The bytes that a thread shares, as base64url. */
export function readThreadIndex(value: string): string | undefined {
  const letters = value.slice(0, 4000).replace(/\s+/g, '')
  if (letters.length < 30 || !/^[A-Za-z0-9+/]+={0,2}$/.test(letters)) return undefined
  const bytes = atob(letters.slice(0, 32).replace(/=+$/, '')).slice(0, threadBytes)
  if (bytes.length < threadBytes) return undefined
  return btoa(bytes).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}
