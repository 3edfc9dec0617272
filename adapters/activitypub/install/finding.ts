// What a check of a handle found: one line each.

export type Finding = {
  readonly check: string
  readonly isFine: boolean
  readonly said: string
  /** Where it is not fine. */
  readonly remedy?: string
}

export function fine(check: string, said: string): Finding {
  return { check, isFine: true, said }
}

export function wrong(check: string, said: string, remedy: string): Finding {
  return { check, isFine: false, said, remedy }
}

export function judged(check: string, isFine: boolean, said: string, remedy: string): Finding {
  return isFine ? fine(check, said) : wrong(check, said, remedy)
}

/** Words of another server, for people: printable and short. */
export function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : value === undefined ? 'nothing' : typeof value
  return text.replace(/[^\x20-\x7e]/g, ' ').slice(0, 120)
}
