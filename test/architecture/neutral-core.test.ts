// The core has no platform code: src/channels.ts alone imports adapters, and a platform's packages are imported in its adapter only.
import { describe, expect, test } from 'vitest'
import { importGraph } from './import-graph.ts'
import { readSources, report, type SourceTree, type Violation } from './source-tree.ts'

const channelList = 'src/channels.ts'

/** Packages that read or write the wire format of one platform, and whose it is. */
const platformPackages: readonly (readonly [packageName: RegExp, adapter: string])[] = [
  [/^@slack\//, 'slack'],
  [/^(grammy|@grammyjs\/.+)$/, 'telegram'],
  [/^(nodemailer|mailauth|mailparser|postal-mime|imapflow|smtp-server|libmime)$/, 'email'],
  [/^@fedify\//, 'activitypub'],
  [/^@a2a-js\//, 'a2a'],
  [/^@ag-ui\//, 'agui'],
]

/** Files of the Node edge that may import such a package all the same, each with its reason. */
const exceptions: Readonly<Record<string, string>> = {}

function platformImports(tree: SourceTree): readonly Violation[] {
  return importGraph(tree).flatMap(({ from, to, kind, line }) => {
    const isCore = from.startsWith('src/')
    if (kind === 'file' && isCore && from !== channelList && to.startsWith('adapters/'))
      return [{ rule: 'neutral-core', file: from, line, what: `imports ${to}` }]
    if (kind !== 'package' || from in exceptions) return []
    const owner = platformPackages.find(([name]) => name.test(to))?.[1]
    if (owner === undefined || from.startsWith(`adapters/${owner}/`)) return []
    return [{ rule: 'neutral-core', file: from, line, what: `imports ${to}, which belongs in adapters/${owner}` }]
  })
}

describe('the neutral core', () => {
  const seen = (text: string, file = 'src/turns/run-turn.ts') =>
    platformImports(new Map([[file, text]])).map(({ what }) => what)

  test.each([
    ["import { maxTextLength } from '../../adapters/slack/wire.ts'", 'imports adapters/slack/wire.ts'],
    ["import type { MailCall } from '../../adapters/email/wire/call.ts'", 'imports adapters/email/wire/call.ts'],
    ["export * from '../../adapters/pigeon/index.ts'", 'imports adapters/pigeon/index.ts'],
    ["const wire = await import('../../adapters/a2a/protocol/objects.ts')", 'imports adapters/a2a/protocol/objects.ts'],
    [
      "type Update = import('../../adapters/telegram/wire/update.ts').Update",
      'imports adapters/telegram/wire/update.ts',
    ],
    ["import { WebClient } from '@slack/web-api'", 'imports @slack/web-api, which belongs in adapters/slack'],
    ["import type { Update } from 'grammy/types'", 'imports grammy, which belongs in adapters/telegram'],
    ["const { createTransport } = await import('nodemailer')", 'imports nodemailer, which belongs in adapters/email'],
    ["import { authenticate } from 'mailauth'", 'imports mailauth, which belongs in adapters/email'],
    ["import { ImapFlow } from 'imapflow'", 'imports imapflow, which belongs in adapters/email'],
    ["import { SMTPServer } from 'smtp-server'", 'imports smtp-server, which belongs in adapters/email'],
    ["import { Note } from '@fedify/fedify'", 'imports @fedify/fedify, which belongs in adapters/activitypub'],
  ])('%s is found in src', (text, what) => {
    expect(seen(text)).toEqual([what])
  })

  test('a package of one platform is found in the adapter of another, and in src/node', () => {
    expect(seen("import 'nodemailer'", 'adapters/slack/deliver/deliver.ts')).toHaveLength(1)
    expect(seen("import 'nodemailer'", 'src/node/runtime.ts')).toHaveLength(1)
  })

  test.each([
    ["import { slackChannel } from '../adapters/slack/index.ts'", 'src/channels.ts'],
    ["import { createTransport } from 'nodemailer'", 'adapters/email/deliver/node-modules.ts'],
    ["import { Hono } from 'hono'\nimport * as z from 'zod'", 'src/api/app.ts'],
    ["// import '../../adapters/slack/wire.ts'\nconst name = 'slack'", 'src/turns/run-turn.ts'],
  ])('%s is no violation in %s', (text, file) => {
    expect(seen(text, file)).toEqual([])
  })

  test('this tree imports platforms in their adapters only', () => {
    expect(report(platformImports(readSources(['src', 'adapters'])))).toEqual([])
  })
})
