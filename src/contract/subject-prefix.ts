// Prefixes of subjects end where a name ends: `space:T1` would also take in `space:T12/…`, `space:T1/` does not.

const delimiters: ReadonlySet<string> = new Set(['/', ':', '#'])

export function endsInDelimiter(prefix: string): boolean {
  return delimiters.has(prefix.at(-1) ?? '')
}

/** False for a prefix that does not end in a delimiter. */
export function hasSubjectPrefix(subject: string, prefix: string): boolean {
  return endsInDelimiter(prefix) && subject.startsWith(prefix)
}
