// Capability ceilings: what a principal may do at most. A ceiling takes away; nothing in here gives.

export type CapabilityCeiling = {
  /** Whose capabilities are meant; 0: those of the acting user. */
  readonly user_id: number
  /** Null: no list of its own. An empty list allows nothing. */
  readonly allowed_capabilities: readonly string[] | null
  readonly denied_capabilities: readonly string[] | null
  readonly metadata: Readonly<Record<string, unknown>>
}

export function ceilingAllows(ceiling: CapabilityCeiling | null, capability: string): boolean {
  const name = capability.trim()
  if (name === '') return false
  if (ceiling === null) return true
  if ((ceiling.denied_capabilities ?? []).some((denied) => isCapabilityDenied(denied, name))) return false
  return ceiling.allowed_capabilities === null || ceiling.allowed_capabilities.includes(name)
}

/** Both ceilings at once. The result never allows what one of them does not. */
export function narrowCeiling(
  one: CapabilityCeiling | null,
  other: CapabilityCeiling | null,
): CapabilityCeiling | null {
  if (one === null || other === null) return one ?? other
  const allowed = [one.allowed_capabilities, other.allowed_capabilities].filter((list) => list !== null)
  const denied = [...(one.denied_capabilities ?? []), ...(other.denied_capabilities ?? [])]
  const [first, second] = allowed
  // Two users would both have to have it; no list can say that, so nothing is allowed.
  const isOfTwo = one.user_id > 0 && other.user_id > 0 && one.user_id !== other.user_id
  return {
    user_id: one.user_id > 0 ? one.user_id : other.user_id,
    allowed_capabilities: isOfTwo
      ? []
      : first === undefined
        ? null
        : first.filter((name) => second?.includes(name) ?? true),
    denied_capabilities: denied.length === 0 ? null : [...new Set(denied)],
    metadata: { ...other.metadata, ...one.metadata },
  }
}

function isCapabilityDenied(denied: string, name: string): boolean {
  return name === denied || name.startsWith(`${denied}_`) || name.startsWith(`${denied}:`)
}
