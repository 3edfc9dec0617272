// The Date of a mail (RFC 5322 3.3, with the zones and years of 4.3), not left to what a runtime takes for a date.

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const zones: Readonly<Record<string, number>> = {
  edt: -240,
  est: -300,
  cdt: -300,
  cst: -360,
  mdt: -360,
  mst: -420,
  pdt: -420,
  pst: -480,
}
const written =
  /^(?:[a-z]{3,9}, ?)?(\d{1,2}) ([a-z]{3})[a-z]{0,6} (\d{2,4}) (\d{1,2}):(\d{2})(?::(\d{2}))? ?([+-]\d{4}|[a-z]{1,5})?(?: ?\(.*)?$/i

/** ISO 8601 in UTC. */
export function readDate(value: string): string | undefined {
  const match = written.exec(value.slice(0, 200).replace(/[ \t]+/g, ' '))
  if (match === null) return undefined
  const [, day, month, year, hour, minute, second, zone] = match
  const monthIndex = months.indexOf((month ?? '').toLowerCase())
  const offset = zoneMinutes(zone ?? '')
  if (monthIndex === -1 || offset === undefined) return undefined
  const time = new Date(0)
  time.setUTCFullYear(fullYear(year ?? ''), monthIndex, Number(day))
  time.setUTCHours(Number(hour), Number(minute), Number(second ?? 0))
  const isReal = time.getUTCDate() === Number(day) && time.getUTCHours() === Number(hour)
  return isReal ? new Date(time.getTime() - offset * 60_000).toISOString() : undefined
}

function fullYear(year: string): number {
  const number = Number(year)
  if (year.length === 4) return number
  return number + (year.length === 2 && number < 50 ? 2000 : 1900)
}

function zoneMinutes(zone: string): number | undefined {
  if (/^[a-z]*$/i.test(zone)) return zones[zone.toLowerCase()] ?? 0
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(3))
  return minutes > 1440 ? undefined : minutes * (zone.startsWith('-') ? -1 : 1)
}
