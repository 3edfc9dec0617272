// What a check of a handle found: one line each.

export type Finding = {
  readonly check: string
  readonly isFine: boolean
  readonly said: string
  /** Where it is not fine. */
  readonly remedy?: string
}

export function passedCheck(check: string, said: string): Finding {
  return { check, isFine: true, said }
}

export function failedCheck(check: string, said: string, remedy: string): Finding {
  return { check, isFine: false, said, remedy }
}

export function checkResult(check: string, isFine: boolean, said: string, remedy: string): Finding {
  return isFine ? passedCheck(check, said) : failedCheck(check, said, remedy)
}

/** Words of another server, for people: printable and short. */
export function displayValue(value: unknown): string {
  const text = typeof value === 'string' ? value : value === undefined ? 'nothing' : typeof value
  return text.replace(/[^\x20-\x7e]/g, ' ').slice(0, 120)
}
