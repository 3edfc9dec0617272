// .env.example and the README name exactly the variables that are read: a missing one is never found, an extra one misleads.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { channels } from '../../../src/channels.ts'
import { checkoutRoot, listFiles } from '../../architecture/source-tree.ts'

const read = (path: string): string => readFileSync(join(checkoutRoot, path), 'utf8')
const sorted = (names: Iterable<string>): readonly string[] => [...new Set(names)].sort()

/** What the adapters ask for when everything is set. */
function readByChannels(): readonly string[] {
  const asked = new Set<string>()
  const everything = new Proxy<Record<string, string>>(
    {},
    {
      get(_, name) {
        asked.add(String(name))
        return 'set'
      },
    },
  )
  for (const channel of channels) channel.fromEnvironment(everything)
  return [...asked]
}

test('every channel says which variables it reads', () => {
  const declared = channels.flatMap(({ variables }) => variables)
  const cores = [...readByConfig, ...readForFiles, ...readForCallers]
  expect(sorted(declared)).toEqual(sorted(readByChannels()).filter((name) => !cores.includes(name)))
})

const readByConfig = [...read('src/config/environment.ts').matchAll(/^ {2}([A-Z][A-Z0-9_]+): z\./gm)].map(
  (match) => match[1] ?? '',
)
const readForFiles = [...read('src/config/attachments.ts').matchAll(/'((?:PARLEY|SUPABASE)_[A-Z0-9_]+)'/g)].map(
  (match) => match[1] ?? '',
)
const readForCallers = [...read('src/config/token-issuers.ts').matchAll(/'(PARLEY_[A-Z0-9_]+)'/g)].map(
  (match) => match[1] ?? '',
)
const known = sorted([...readByConfig, ...readForFiles, ...readForCallers, ...readByChannels()])

test('the variables are found where they are read', () => {
  expect(known).toEqual(expect.arrayContaining(['PARLEY_PORT', 'DATABASE_URL', 'TELEGRAM_BOT_TOKEN', 'TELEGRAM_ALLOW']))
  expect(known).toEqual(expect.arrayContaining(['PARLEY_S3_REGION', 'SUPABASE_BUCKET']))
})

test('.env.example lists exactly the variables that are read, each with a comment', () => {
  const lines = read('.env.example').split('\n')
  const listed = lines.flatMap((line) => /^#?([A-Z][A-Z0-9_]+)=/.exec(line)?.[1] ?? [])
  expect([...listed].sort()).toEqual(known)
  const bare = lines.filter((line, index) => {
    const above = lines[index - 1] ?? ''
    return /^#?[A-Z][A-Z0-9_]+=/.test(line) && !/^#( |[A-Z])/.test(above)
  })
  expect(bare).toEqual([])
})

test('the README names them all', () => {
  const readme = read('README.md')
  expect(known.filter((name) => !readme.includes(`\`${name}\``))).toEqual([])
})

test('nothing else in the program reads the environment by a name of its own', () => {
  const files = listFiles(['src', 'adapters']).filter((path) => /\.tsx?$/.test(path))
  const names = files.flatMap((path) =>
    [...read(path).matchAll(/process\.env(?:\.|\[')([A-Z][A-Z0-9_]*)/g)].map((match) => match[1] ?? ''),
  )
  // What every program honours and nobody sets for us.
  const everybodys = ['PATH', 'NO_COLOR', 'NODE_ENV', 'XDG_RUNTIME_DIR']
  expect(sorted(names).filter((name) => !everybodys.includes(name) && !known.includes(name))).toEqual([])
})
