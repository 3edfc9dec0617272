// Replies that grow. Un-awaited deltas (S81) do not reach an adapter: the gateway shows one frame after the other.

import type { Adapter, LiveFrame } from '../../../src/contract/index.ts'
import type { JsonObject } from '../../../src/lib/json-value.ts'
import { createAttempt, createTextReply } from '../../../src/testing/adapter-contract-outbound.ts'
import { memoryNotes } from '../../doubles/memory-ttl-store.ts'
import { apiError, type SlackApi } from '../../doubles/slack-api.ts'
import type { Case } from '../conform.ts'
import { place, withApi } from './slack-setup.ts'

type Live = {
  readonly api: SlackApi
  readonly adapter: Adapter
  readonly reference: string
  readonly frame: (text: string, shown: string) => Promise<unknown>
  readonly finish: (text: string) => Promise<unknown>
}

/** Opens a live message with `first`, at a clock that can be moved. */
function live<T>(
  first: string,
  run: (scene: Live) => Promise<T>,
  { to = place, clock = () => Date.now(), prepare = (_: SlackApi) => {} } = {},
): Promise<T> {
  return withApi(
    async (api, adapter) => {
      prepare(api)
      const opening = adapter.live?.open(to, first) ?? {}
      const opened = await adapter.deliver(JSON.parse(JSON.stringify(opening)), createAttempt(1))
      const reference = opened.kind === 'delivered' ? (opened.vendorId ?? '') : ''
      const frame = async (text: string, shown: string) => {
        const asked: LiveFrame = { reference, to, text, shown, signal: AbortSignal.timeout(5000) }
        return adapter.live?.frame(asked)
      }
      const finish = async (text: string) => {
        const [last] = adapter.render(createTextReply(text), to, new Set(), true)
        return adapter.deliver(last?.call ?? {}, createAttempt(1, { liveReference: reference }))
      }
      return run({ api, adapter, reference, frame, finish })
    },
    { deps: { now: clock } },
  )
}

const direct: JsonObject = { account: 'T0PARLEY1', channel: 'D0ADA0001' }
const textsOf = ({ api }: Live) => api.posts.map(({ text }) => text)

export const liveCases: readonly Case[] = [
  {
    id: 'S81',
    claim: 'a hundred frames are one stream, whose pieces together are the words',
    run: () =>
      live('0', async (scene) => {
        let shown = '0'
        for (let number = 1; number <= 100; number += 1) {
          await scene.frame(`${shown} ${number}`, shown)
          shown = `${shown} ${number}`
        }
        const [post] = scene.api.posts
        return [
          scene.api.methods().filter((method) => method === 'chat.startStream').length,
          scene.api.posts.length,
          post?.text === shown,
        ]
      }),
    equals: [1, 1, true],
  },
  {
    id: 'S82',
    claim: 'a stream that Slack ended goes on as edits of the same message, and every word is there once',
    run: () =>
      live('one', async (scene) => {
        await scene.frame('one two', 'one')
        scene.api.failAlways('chat.appendStream', apiError('message_not_in_streaming_state'))
        await scene.frame('one two three', 'one two')
        await scene.frame('one two three four', 'one two three')
        const frames = textsOf(scene)
        await scene.finish('one two three four five')
        return [frames, textsOf(scene)]
      }),
    equals: [['one two three four'], ['one two three four five']],
  },
  {
    id: 'S83',
    claim: 'after four minutes a stream is stopped and edited, so that it never dies by itself',
    run: () => {
      let now = Date.now()
      return live(
        'one',
        async (scene) => {
          now += 3 * 60_000
          await scene.frame('one two', 'one')
          now += 61_000
          await scene.frame('one two three', 'one two')
          return [scene.api.methods(), textsOf(scene)]
        },
        { clock: () => now },
      )
    },
    equals: [['chat.startStream', 'chat.appendStream', 'chat.stopStream', 'chat.update'], ['one two three']],
  },
  {
    id: 'S84',
    claim: 'half a character waits for its other half',
    run: () =>
      live('a', async (scene) => {
        await scene.frame('a\ud83d', 'a')
        await scene.frame('a🙂!', 'a\ud83d')
        return scene.api.fields('chat.appendStream').map(({ markdown_text: text }) => text)
      }),
    equals: ['🙂!'],
  },
  {
    id: 'S85',
    claim: 'where there are no streams the words are posted and edited, and that is remembered for the installation',
    run: () =>
      live(
        'one',
        async (scene) => {
          await scene.frame('one two', 'one')
          const second = scene.adapter.live?.open(place, 'again') as { method?: string } | undefined
          await scene.finish('one two three')
          return [scene.api.methods(), textsOf(scene), second?.method]
        },
        { prepare: (api) => api.failAlways('chat.startStream', apiError('unknown_method')) },
      ),
    equals: [
      ['chat.startStream', 'chat.postMessage', 'chat.update', 'chat.update'],
      ['one two three'],
      'chat.postMessage',
    ],
  },
  {
    id: 'S85b',
    claim: 'and another process, which has not asked yet, finds it remembered',
    run: async () => {
      const notes = memoryNotes()
      const opened = () =>
        withApi(
          async (api, adapter) => {
            api.failAlways('chat.startStream', apiError('unknown_method'))
            await adapter.deliver(JSON.parse(JSON.stringify(adapter.live?.open(place, 'one'))), createAttempt(1))
            return api.methods()
          },
          { deps: { ttlStore: notes } },
        )
      return [await opened(), await opened()]
    },
    equals: [['chat.startStream', 'chat.postMessage'], ['chat.postMessage']],
  },
  {
    id: 'S85a',
    claim: 'a direct message without a thread is posted and edited',
    run: () =>
      live(
        'one',
        async (scene) => {
          await scene.frame('one two', 'one')
          await scene.finish('done')
          return [
            scene.api.methods(),
            textsOf(scene),
            scene.api.fields('chat.postMessage').map((fields) => 'thread_ts' in fields),
          ]
        },
        { to: direct },
      ),
    equals: [['chat.postMessage', 'chat.update', 'chat.update'], ['done'], [false]],
  },
  {
    id: 'S82a',
    claim: 'the last word stops the stream, edits the message, and may be said again',
    run: () =>
      live('one', async (scene) => {
        const outcomes = [await scene.finish('all of it'), await scene.finish('all of it')]
        return [outcomes, textsOf(scene), scene.api.methods()]
      }),
    expected: [
      [{ kind: 'delivered' }, { kind: 'delivered' }],
      ['all of it'],
      ['chat.startStream', 'chat.stopStream', 'chat.update', 'chat.update'],
    ],
  },
  {
    id: 'S82b',
    claim: 'a live message that somebody deleted is posted anew',
    run: () =>
      live('one', async (scene) => {
        scene.api.failAlways('chat.update', apiError('message_not_found'))
        await scene.finish('all of it')
        return textsOf(scene)
      }),
    equals: ['one', 'all of it'],
  },
  {
    id: 'S82c',
    claim: '429 on a frame is later, and changes nothing else',
    run: () =>
      live('one', async (scene) => {
        scene.api.failNext('chat.appendStream', {
          kind: 'answer',
          status: 429,
          body: '',
          headers: { 'retry-after': '2' },
        })
        return [await scene.frame('one two', 'one'), await scene.frame('one two three', 'one'), textsOf(scene)]
      }),
    equals: [{ kind: 'later', afterMs: 2000 }, { kind: 'shown' }, ['one two three']],
  },
  {
    id: 'S82d',
    claim: 'a frame whose answer was lost is followed by the whole text, so that nothing is there twice',
    run: () =>
      live('one', async (scene) => {
        scene.api.failNext('chat.appendStream', { kind: 'drop', when: 'after' })
        return [await scene.frame('one two', 'one'), textsOf(scene)]
      }),
    equals: [{ kind: 'shown' }, ['one two']],
  },
  {
    id: 'S87',
    claim:
      'the status is said again before two minutes are over, not at every sign, and taken back after a failure too',
    run: async () => {
      let now = Date.now()
      return withApi(
        async (api, adapter) => {
          for (let seconds = 0; seconds < 180; seconds += 4) {
            await adapter.presence?.show(place, 'typing')
            now += 4000
          }
          await adapter.presence?.show(place, 'ended', { outcome: 'failed' })
          await adapter.presence?.show(place, 'ended', { outcome: 'failed' })
          return api.fields('assistant.threads.setStatus').map(({ status }) => status)
        },
        { deps: { now: () => now } },
      )
    },
    equals: ['is working on it…', 'is working on it…', 'is working on it…', ''],
  },
  {
    id: 'S87a',
    claim: 'where it is refused it is not asked for again',
    run: () =>
      withApi(async (api, adapter) => {
        api.failAlways('assistant.threads.setStatus', apiError('missing_scope'))
        for (const thread of ['1.1', '1.2']) await adapter.presence?.show({ ...place, thread_ts: thread }, 'typing')
        return api.methods().length
      }),
    equals: 1,
  },
  {
    id: 'S81a',
    claim: 'a token that arrives in two frames is broken all the same',
    run: () =>
      live('hey <', async (scene) => {
        await scene.frame('hey <!channel> @her', 'hey <')
        await scene.frame('hey <!channel> @here', 'hey <!channel> @her')
        return /<!channel>|@here/.test(textsOf(scene).join(''))
      }),
    equals: false,
  },
]
