// TDLib's own parser of formatted text, the one the Bot API server uses: static, synchronous, offline, no account.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { loadPeer, type Peer, provePeer } from '../peer.ts'

/** As TDLib writes it; offsets and lengths are UTF-16 units. */
export type TextEntity = {
  readonly offset: number
  readonly length: number
  readonly type: {
    readonly _: string
    readonly url?: string
    readonly language?: string
    readonly user_id?: number
  }
}
export type FormattedText = { readonly text: string; readonly entities: readonly TextEntity[] }
export type Rejected = { readonly rejected: string }

export type Tdlib = {
  /** The text and its entities, or TDLib's own words for why not. */
  readonly parseHtml: (html: string) => FormattedText | Rejected
  /** What a client or the server would make live in plain text: mentions, commands, addresses, tags. */
  readonly detect: (text: string) => readonly TextEntity[]
}

type Answer =
  | { readonly _: 'formattedText'; readonly text: string; readonly entities: readonly TextEntity[] }
  | { readonly _: 'textEntities'; readonly entities: readonly TextEntity[] }
  | { readonly _: 'error'; readonly message: string }
type Tdl = {
  readonly configure: (settings: { readonly tdjson: string; readonly verbosityLevel: number }) => void
  readonly execute: (request: Readonly<Record<string, unknown>>) => Answer
}

// In a process of its own, because a native library that does not fit this machine may end the process that loads it.
const parseOneEntity = `
  const tdl = require(process.argv[1])
  tdl.configure({ tdjson: require(process.argv[2]).getTdjson(), verbosityLevel: 0 })
  const answer = tdl.execute({ _: 'parseTextEntities', text: '<b>x</b>', parse_mode: { _: 'textParseModeHTML' } })
  if (answer.entities?.[0]?.type._ !== 'textEntityTypeBold') throw new Error('it parsed no entity')
`
const paths = loadPeer('TDLib', (require) => [require.resolve('tdl'), require.resolve('prebuilt-tdlib')])
const proven = await provePeer('TDLib', paths, (files) =>
  promisify(execFile)(process.execPath, ['--eval', parseOneEntity, ...files], { timeout: 30_000 }),
)

export const tdlib: Peer<Tdlib> = 'problem' in proven ? proven : loadPeer('TDLib', load)

function load(require: NodeJS.Require): Tdlib {
  const tdl: Tdl = require('tdl')
  const { getTdjson }: { readonly getTdjson: () => string } = require('prebuilt-tdlib')
  tdl.configure({ tdjson: getTdjson(), verbosityLevel: 0 })
  return {
    parseHtml(text) {
      const answer = tdl.execute({ _: 'parseTextEntities', text, parse_mode: { _: 'textParseModeHTML' } })
      if (answer._ === 'formattedText') return { text: answer.text, entities: answer.entities }
      return { rejected: answer._ === 'error' ? answer.message : answer._ }
    },
    detect(text) {
      const answer = tdl.execute({ _: 'getTextEntities', text })
      if (answer._ !== 'textEntities') throw new Error(answer._ === 'error' ? answer.message : answer._)
      return answer.entities
    },
  }
}
