// Knowing one adapter is knowing all: each folder has the same names and no others.
import { describe, expect, test } from 'vitest'
import { listFiles } from './source-tree.ts'

const required = ['index', 'config', 'verify', 'normalize', 'render', 'deliver', 'README.md']
const optional = [
  'wire',
  'sentences',
  'reasons',
  'live',
  'files',
  'presence',
  'thread-ancestors',
  'bot-identity',
  'setup',
  'doctor',
  'admin',
]
/** Words of one protocol alone, without a counterpart elsewhere (docs/decisions/0024). */
const own: Readonly<Record<string, readonly string[]>> = {
  slack: ['oauth', 'socket-mode', 'thread-state'],
  telegram: ['polling'],
  a2a: ['protocol', 'server', 'client', 'push'],
  activitypub: ['signatures', 'vocab', 'actors', 'documents', 'moderation'],
  email: [
    'ingress',
    'smtp',
    'imap',
    'webhooks',
    'headers',
    'mime',
    'auth',
    'dkim',
    'dns',
    'quotes',
    'threading',
    'loop-prevention',
    'approval-links',
    'offload',
  ],
}

/** What is wrong with the shape of the adapters, given every file path below `adapters/`. */
function shapeFaults(paths: readonly string[]): readonly string[] {
  const loose = paths
    .filter((path) => path.split('/').length < 3)
    .map((path) => `${path}: belongs into an adapter's folder`)
  const folders = Map.groupBy(
    paths.filter((path) => path.split('/').length >= 3),
    (path) => path.split('/')[1] ?? '',
  )
  return [...loose, ...[...folders].flatMap(([adapter, files]) => folderFaults(adapter, files))]
}

function folderFaults(adapter: string, files: readonly string[]): readonly string[] {
  const entries = new Set(files.map((path) => path.split('/')[2] ?? ''))
  const folders = new Set(files.filter((path) => path.split('/').length > 3).map((path) => path.split('/')[2] ?? ''))
  const nouns = [...entries].map((entry) => (folders.has(entry) ? entry : entry.replace(/\.ts$/, '')))
  const missing = required
    .filter((noun) => !nouns.includes(noun))
    .map((noun) => `adapters/${adapter}: ${noun} is missing`)
  const foreign = [...entries]
    .filter((entry) => !isAllowed(adapter, entry, folders.has(entry)))
    .map((entry) => `adapters/${adapter}/${entry}: no adapter has a file of this name`)
  const twice = nouns.filter((noun, index) => nouns.indexOf(noun) !== index)
  return [...missing, ...foreign, ...twice.map((noun) => `adapters/${adapter}: ${noun} is both a file and a folder`)]
}

function isAllowed(adapter: string, entry: string, isFolder: boolean): boolean {
  if (entry === 'README.md') return true
  const noun = isFolder ? entry : entry.replace(/\.ts$/, '')
  return (
    (isFolder || entry.endsWith('.ts')) &&
    noun !== 'README.md' &&
    [...required, ...optional, ...(own[adapter] ?? [])].includes(noun)
  )
}

describe('the shape of an adapter', () => {
  const pigeon = [
    ...['index', 'config', 'wire', 'verify', 'normalize', 'render', 'deliver'].map(
      (noun) => `adapters/pigeon/${noun}.ts`,
    ),
    'adapters/pigeon/README.md',
  ]

  test('the full set of names is in shape', () => {
    expect(shapeFaults(pigeon)).toEqual([])
  })

  test('a file may be a folder of the same name, presence, live and files may exist', () => {
    const grown = pigeon
      .filter((path) => !path.endsWith('/wire.ts'))
      .concat(['adapters/pigeon/wire/update.ts', 'adapters/pigeon/files/open.ts'])
      .concat(['adapters/pigeon/presence.ts', 'adapters/pigeon/live.ts'])
    expect(shapeFaults(grown)).toEqual([])
  })

  test.each(pigeon.filter((path) => !path.endsWith('/wire.ts')))('%s may not be missing', (path) => {
    const noun = path.replace('adapters/pigeon/', '').replace('.ts', '')
    expect(shapeFaults(pigeon.filter((other) => other !== path))).toEqual([`adapters/pigeon: ${noun} is missing`])
  })

  test('a noun of one protocol is foreign to every other', () => {
    expect(shapeFaults([...pigeon, 'adapters/pigeon/moderation/hop.ts'])).toEqual([
      'adapters/pigeon/moderation: no adapter has a file of this name',
    ])
  })

  test.each(['helpers.ts', 'fixtures.ts', 'fixtures/coo.json', 'verify-more.ts', 'notes.md', 'lib/x.ts', 'index.js'])(
    '%s is foreign',
    (name) => {
      const entry = name.split('/')[0]
      expect(shapeFaults([...pigeon, `adapters/pigeon/${name}`])).toEqual([
        `adapters/pigeon/${entry}: no adapter has a file of this name`,
      ])
    },
  )

  test('a file beside the folders, and a noun that is both file and folder, are faults', () => {
    expect(shapeFaults([...pigeon, 'adapters/shared.ts'])).toEqual([
      "adapters/shared.ts: belongs into an adapter's folder",
    ])
    expect(shapeFaults([...pigeon, 'adapters/pigeon/wire/update.ts'])).toEqual([
      'adapters/pigeon: wire is both a file and a folder',
    ])
  })

  test('every adapter here is in shape', () => {
    expect(shapeFaults(listFiles(['adapters']))).toEqual([])
  })
})
