// Hosts and actors, found without going through all of them: such lists have tens of thousands of entries. Pure.

export interface PeerList {
  /** Whether an address is listed, or its host, or a host above that. */
  has(iri: string): boolean
}

/** An entry is an actor's address, or a host, which stands for the hosts below it too. */
export function peerList(entries: Iterable<string>): PeerList {
  const listed = new Set(entries)
  return {
    has(iri) {
      if (listed.size === 0 || !URL.canParse(iri)) return false
      const { host, hostname } = new URL(iri)
      return listed.has(iri) || listed.has(host) || parentDomains(hostname).some((each) => listed.has(each))
    },
  }
}

/** The host itself, and every host that it is below. */
function parentDomains(hostname: string): readonly string[] {
  const labels = hostname.split('.')
  return labels.map((_, at) => labels.slice(at).join('.'))
}
