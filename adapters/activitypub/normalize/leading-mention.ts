// A note to an agent begins with its name, because that is how it gets there. To the agent it says nothing. Pure.

/** `names`: how this agent may be written, with what may stand behind each; the longest is taken. */
export function withoutLeadingMention(text: string, names: readonly string[]): string {
  const known = [...new Set(names.map((name) => name.toLowerCase()))].sort((one, other) => other.length - one.length)
  const kept: string[] = []
  let rest = text.trimStart()
  for (;;) {
    const own = known.find((name) => startsWithName(rest, name))
    if (own !== undefined) {
      rest = rest.slice(own.length).replace(/^[,:]?\s*/, '')
      continue
    }
    // Others may be named before it; they stay where they are.
    const other = /^@[^\s,:]{1,300}(?::\d{1,5})?[,:]?\s+/.exec(rest)?.[0]
    if (other === undefined || kept.length >= maxNamed) break
    kept.push(other)
    rest = rest.slice(other.length)
  }
  return rest === text.trimStart() ? text : `${kept.join('')}${rest}`
}

const maxNamed = 20

function startsWithName(text: string, name: string): boolean {
  if (text.slice(0, name.length).toLowerCase() !== name) return false
  const next = text.charAt(name.length)
  // `@demo@elsewhere.example` and `@demo-two` are other names.
  return next === '' || /[\s,:;!?.()]/.test(next)
}
