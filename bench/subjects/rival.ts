// A library of others as a subject: loaded from its own packages when it is asked for, never bundled.
import { a2aPath } from '../platforms/a2a.ts'
import { activitypubAccount, activitypubPath } from '../platforms/activitypub.ts'
import { slackAccount, slackPath } from '../platforms/slack.ts'
import { telegramAccount, telegramPath } from '../platforms/telegram.ts'
import type { Subject, SubjectSettings, Wire } from '../subject-settings.ts'

type RivalSettings = Extract<SubjectSettings, { kind: 'rival' }>
type ReferenceSettings = Extract<SubjectSettings, { kind: 'reference' }>
type Rival = { readonly port: number; readonly handled: () => number; readonly stop: () => Promise<void> }
type Start = (options: object) => Promise<Rival>

const accounts: Readonly<Partial<Record<Wire, object>>> = {
  telegram: { ...telegramAccount, path: telegramPath },
  slack: { ...slackAccount, path: slackPath },
  a2a: { path: a2aPath },
  'a2a-stream': { path: a2aPath },
  activitypub: { ...activitypubAccount, path: activitypubPath },
}

export function startRival({ name, wire, ...options }: RivalSettings): Promise<Subject> {
  return startFile(`rivals/${name}.js`, { wire, ...options, ...accounts[wire] })
}

export function startReference({ name, ...options }: ReferenceSettings): Promise<Subject> {
  return startFile(`references/${name}.js`, { ...options, ...accounts.telegram })
}

async function startFile(path: string, options: object): Promise<Subject> {
  // The bundle lies in dist.
  const { start }: { start: Start } = await import(new URL(`../bench/${path}`, import.meta.url).href)
  const started = await start(options)
  return { ...started, statements: new Map(), sends: () => 0 }
}
