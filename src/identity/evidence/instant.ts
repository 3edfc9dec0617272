// Instants in evidence: RFC 3339 and nothing that merely resembles it, since two readers must not differ on an expiry.

const instantPattern = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/

/** Milliseconds since 1970; undefined for anything but a complete RFC 3339 date and time that exists. */
export function parseInstant(text: string): number | undefined {
  const [, year, month, day, hour, minute, second] = instantPattern.exec(text) ?? []
  if (year === undefined || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined
  // Date.parse would turn the 30th of February into the 2nd of March.
  const lastDay = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate()
  if (Number(month) < 1 || Number(month) > 12 || Number(day) < 1 || Number(day) > lastDay) return undefined
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : at
}
