// The core knows capabilities, never channels: outside channels.ts no text in src names one.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  checkoutRoot,
  lineOf,
  parseSource,
  readSources,
  report,
  type SourceTree,
  type Violation,
  walk,
} from './source-tree.ts'

const knownNames = [
  'slack',
  'telegram',
  'email',
  'activitypub',
  'a2a',
  'agui',
  'ag-ui',
  'mastodon',
  'fediverse',
  'discord',
]
const theOneThatMay = 'src/channels.ts'

function adapterNames(): readonly string[] {
  const folder = join(checkoutRoot, 'adapters')
  if (!existsSync(folder)) return []
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []))
}

/** Strings, templates, literal types and page text that contain a channel's name as a word; comments do not count. */
function namedChannels(tree: SourceTree, names: readonly string[]): readonly Violation[] {
  // camelCase counts as words as well, so that a key like `slackToken` in a text is seen.
  const pattern = new RegExp(`(?<![a-z0-9])(${names.join('|')})(?![a-z0-9])`, 'i')
  const found: Violation[] = []
  for (const [file, text] of tree) {
    if (file === theOneThatMay || !file.startsWith('src/')) continue
    walk(parseSource(file, text), (node) => {
      const words = textIn(node)?.replace(/([a-z0-9])([A-Z])/g, '$1 $2')
      const name = words === undefined ? undefined : pattern.exec(words)?.[1]
      if (name === undefined) return
      found.push({ rule: 'neutral-core', file, line: lineOf(text, node.start), what: `text names the channel ${name}` })
    })
  }
  return found
}

function textIn(node: { readonly type: string; readonly [key: string]: unknown }): string | undefined {
  if (node.type === 'Literal' || node.type === 'JSXText') {
    return typeof node['value'] === 'string' ? node['value'] : undefined
  }
  if (node.type !== 'TemplateElement') return undefined
  const value = node['value']
  return typeof value === 'object' && value !== null && 'raw' in value ? String(value.raw) : undefined
}

describe('the neutral core', () => {
  const seen = (text: string, file = 'src/agents/loop.ts') =>
    namedChannels(new Map([[file, text]]), [...knownNames, 'pigeon']).map((violation) => violation.what)

  test.each([
    ["if (channel === 'slack') go()", 'slack'],
    ["type Channel = 'telegram' | 'other'", 'telegram'],
    ['const text = `reply by Email please`', 'Email'],
    ["const path = '/hooks/a2a/'", 'a2a'],
    ["const key = 'slackToken'", 'slack'],
    ["const key = 'ACTIVITYPUB_KEY'", 'ACTIVITYPUB'],
    ["const o = { 'ag-ui': 1 }", 'ag-ui'],
    ["import x from '../adapters/pigeon/index.ts'", 'pigeon'],
    ['const p = <p>Answer on Mastodon</p>', 'Mastodon'],
  ])('sees %s', (text, name) => {
    expect(seen(text, 'src/console/page.tsx')).toEqual([`text names the channel ${name}`])
  })

  test.each([
    "// slack does this differently\nconst a = '/api/v1/agent/run'",
    "/* telegram */ const a = 'slacken the pace of emailing'",
    'const telegram = 1; const o = { email: telegram }',
    "const hash = '9a2a7'",
  ])('allows %s', (text) => {
    expect(seen(text)).toEqual([])
  })

  test('lets channels.ts name them, and nobody else', () => {
    expect(seen("const a = 'slack'", 'src/channels.ts')).toEqual([])
    expect(seen("const a = 'slack'", 'src/api/channels.ts')).toHaveLength(1)
  })

  test('this tree names no channel', () => {
    expect(report(namedChannels(readSources(['src']), [...new Set([...knownNames, ...adapterNames()])]))).toEqual([])
  })
})
