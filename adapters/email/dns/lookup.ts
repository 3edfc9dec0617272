// DNS questions and answers, apart from the resolver that is asked (node-lookup.ts, doh-lookup.ts).

/** The kinds of record that SPF, DKIM and DMARC ask for. */
export type RecordType = 'TXT' | 'A' | 'AAAA' | 'MX' | 'PTR' | 'CNAME'

/** TXT: the chunks of one record; MX: a host and its rank; any other: a name or an address. */
export type DnsRecord = readonly string[] | { readonly exchange: string; readonly priority: number } | string

/**
 * none: the name system says that there is nothing; temporary: it is not known. They are never mixed up: without a record a domain
 * has no policy, and a policy must not vanish because a server was slow.
 */
export type Answer =
  | { readonly kind: 'records'; readonly records: readonly DnsRecord[]; readonly ttlMs: number }
  | { readonly kind: 'none'; readonly isNameKnown: boolean; readonly ttlMs: number }
  | { readonly kind: 'temporary'; readonly reason: string }

export type Lookup = (name: string, type: RecordType, signal: AbortSignal) => Promise<Answer>
