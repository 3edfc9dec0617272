// Reads HTML back with a parser that knows nothing of who wrote it.
import { Parser } from 'htmlparser2'

export type ReadHtml = {
  readonly text: string
  /** `tag` and `tag@attribute`, each once. */
  readonly used: ReadonlySet<string>
  readonly links: readonly string[]
  /** Tags that the parser had to open or close by itself. */
  readonly repaired: readonly string[]
}

const empty = new Set(['br', 'hr', 'meta'])

export function readHtml(html: string): ReadHtml {
  const texts: string[] = []
  const used = new Set<string>()
  const links: string[] = []
  const repaired: string[] = []
  const parser = new Parser({
    onopentag(name, attributes, isImplied) {
      used.add(name)
      for (const attribute of Object.keys(attributes)) used.add(`${name}@${attribute}`)
      if (attributes['href'] !== undefined) links.push(attributes['href'])
      if (isImplied) repaired.push(`<${name}>`)
      if (name === 'br') texts.push('\n')
    },
    onclosetag(name, isImplied) {
      if (isImplied && !empty.has(name)) repaired.push(`</${name}>`)
    },
    ontext: (text) => void texts.push(text),
  })
  parser.end(html)
  return { text: texts.join(''), used, links, repaired }
}
