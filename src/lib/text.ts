// Texts that people write into settings and flags.

/** What stands between commas, without blanks around it and without empty entries. */
export function splitCommaList(text: string | undefined): readonly string[] {
  return (text ?? '').split(',').flatMap((entry) => entry.trim() || [])
}
