// Ids that are worth something by themselves: whoever shows one must have been told it (a2a 5, D20).

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Long and mixed enough that nobody else has thought of it. */
export function isUnguessable(id: string): boolean {
  if (uuid.test(id)) return new Set(id).size > 6
  return id.length >= 22 && new Set(id).size >= 10
}
