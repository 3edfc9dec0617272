// Ids that cannot be guessed: a caller that shows one must have been told it.

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Long and mixed enough that no other caller has thought of it. */
export function isUnguessable(id: string): boolean {
  if (uuid.test(id)) return new Set(id).size > 6
  return id.length >= 22 && new Set(id).size >= 10
}
