// What answers of a model are made of: paragraphs, lists, tables, code and the rest, each different every time it is asked for.
import type { SeededRandom } from '../../../chaos/seeded-random.ts'

type Make = (random: SeededRandom) => string

const nouns =
  'server queue invoice lighthouse recipe parser budget kettle release answer bridge index harbour token'.split(' ')
const verbs = 'restarts closes checks measures keeps repeats drops explains stores renames splits warms'.split(' ')
const qualities =
  'quiet late cheap broken new *careful* **important** `nullable` ~~old~~ strange_looking 东京 größer 🚀'.split(' ')
const links = [
  '[the guide](https://docs.example/guide_v2)',
  '<https://x.example/a_b?c=d&e=f>',
  'https://en.wiki.example/wiki/Mercury_(planet)',
  '[`code link`](https://x.example/code)',
  '[**bold** link](https://x.example/bold "title")',
  'me@example.com',
]
const names = [
  '@alice',
  '@bob_smith',
  '@here',
  '/start',
  '#topic',
  '<@U024BE7LH>',
  '<!channel>',
  '@user@social.example',
]
const code: Readonly<Record<string, string>> = {
  ts: 'const total = items.reduce((sum, each) => sum + each.price, 0) // <number>',
  python: 'total = sum(item["price"] for item in items if item["qty"] > 0)  # *all* of them',
  sql: "SELECT id, name FROM people WHERE name LIKE '%_x%' AND age >= 18;",
  bash: 'for f in *.log; do gzip -9 "$f" && echo "done: $f"; done',
  json: '{"a": [1, 2, {"b": "<c> & `d`"}], "e": null}',
  'c++': 'template <typename T> auto twice(T&& x) { return std::forward<T>(x) * 2; }',
  '': 'plain text in a block  with   spaces\n\tand a tab',
}

const sentence: Make = (random) => {
  const words = Array.from({ length: random.between(3, 14) }, (_, at) => {
    if (at % 5 === 4) return random.pick(qualities)
    return random.pick(at % 2 === 0 ? nouns : verbs)
  })
  const extra = random.between(0, 9)
  if (extra === 0) words.push(random.pick(links))
  if (extra === 1) words.push(random.pick(names))
  const text = words.join(' ')
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${random.pick(['.', '.', '.', '!', '?', ':', ' …'])}`
}

const paragraph: Make = (random) =>
  Array.from({ length: random.between(1, 6) }, () => sentence(random)).join(random.between(0, 4) === 0 ? '\n' : ' ')

const heading: Make = (random) => `${'#'.repeat(random.between(1, 6))} ${sentence(random)}`

const list: Make = (random) => items(random, '', random.between(1, 3))

function items(random: SeededRandom, indent: string, depth: number): string {
  const isOrdered = random.between(0, 1) === 1
  const start = random.pick([1, 1, 1, 3, 9, 98])
  return Array.from({ length: random.between(1, 6) }, (_, at) => {
    const marker = isOrdered ? `${start + at}. ` : random.pick(['- ', '- ', '- [ ] ', '- [x] '])
    const line = `${indent}${marker}${sentence(random)}`
    const width = isOrdered ? marker.length : 2
    const isNested = depth > 1 && random.between(0, 2) === 0
    return isNested ? `${line}\n${items(random, indent + ' '.repeat(width), depth - 1)}` : line
  }).join('\n')
}

const table: Make = (random) => {
  const columns = random.between(2, 7)
  const cell = () =>
    random.pick([...nouns, ...qualities, ...links, '', '1,234.50', 'a \\| b']).replaceAll(/(?<!\\)\|/g, '\\|')
  const row = () => `| ${Array.from({ length: columns }, cell).join(' | ')} |`
  const rule = `|${Array.from({ length: columns }, () => random.pick(['---', ':--', ':-:', '--:'])).join('|')}|`
  return [row(), rule, ...Array.from({ length: random.between(1, 12) }, row)].join('\n')
}

const fence: Make = (random) => {
  const language = random.pick(Object.keys(code))
  const lines = Array.from({ length: random.between(1, 12) }, () => code[language] ?? '')
  return `\`\`\`${language}\n${lines.join('\n')}\n\`\`\``
}

const quote: Make = (random) =>
  random
    .pick([paragraph, list, fence])(random)
    .split('\n')
    .map((line) => `> ${line}`)
    .join('\n')

const note: Make = (random) => {
  const label = random.pick(['1', 'note', 'src'])
  return `A claim[^${label}] and ${random.pick(links)}.\n\n[^${label}]: ${sentence(random)}`
}

const slip: Make = (random) =>
  random.pick([
    `**${sentence(random)}**text without a space`,
    `${sentence(random)} **never closed`,
    `| ${sentence(random)} |`,
    `<div class="x">${sentence(random)}</div>`,
    `- ${sentence(random)}\n      ${sentence(random)}`,
    `${random.pick(nouns)}_${random.pick(nouns)}_${random.pick(nouns)} * ${random.pick(nouns)} ** ${random.pick(nouns)}`,
  ])

export const makers: readonly Make[] = [
  paragraph,
  paragraph,
  paragraph,
  paragraph,
  heading,
  heading,
  list,
  list,
  list,
  table,
  fence,
  fence,
  quote,
  note,
  slip,
]
export const makeParagraph: Make = paragraph
