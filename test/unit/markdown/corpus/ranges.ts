// What a platform would refuse or silently change about ranges over a text.

export type Ranged = {
  readonly text: string
  readonly entities: readonly {
    readonly type: string
    readonly offset: number
    readonly length: number
    readonly url?: string
    readonly language?: string
  }[]
}

export function rangeProblems({ text, entities }: Ranged): readonly string[] {
  const problems: string[] = []
  for (const [at, { type, offset, length }] of entities.entries()) {
    const words = text.slice(offset, offset + length)
    const where = `${type} ${offset}+${length}`
    if (length < 1 || offset < 0 || offset + length > text.length) problems.push(`${where} is outside of the text`)
    else if (words.trim() === '') problems.push(`${where} is blank`)
    if (splitsPair(text, offset) || splitsPair(text, offset + length)) problems.push(`${where} splits a character`)
    for (const other of entities.slice(at + 1)) {
      if (other.offset >= offset + length) break
      if (other.offset < offset) problems.push(`${where} is out of order`)
      else if (other.offset + other.length > offset + length) problems.push(`${where} crosses ${other.type}`)
      else if (other.offset === offset && other.length === length && type !== other.type) continue
      else if (type === 'pre' || type === 'code' || other.type === type) problems.push(`${where} holds ${other.type}`)
    }
  }
  return problems
}

function splitsPair(text: string, at: number): boolean {
  return at > 0 && at < text.length && /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(at - 1, at + 1))
}
