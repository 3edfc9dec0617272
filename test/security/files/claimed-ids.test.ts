// A name of somebody's file is no right to it: what an arrival says about stored files is forgotten before it is read.
import { expect, test } from 'vitest'
import type { InboundEvent, Part } from '../../../src/contract/index.ts'
import { claimFilesOfEvents } from '../../../src/turns/turn-files.ts'
import { aMessage } from '../../doubles/inbox-drafts.ts'

const theirs = { id: '018f0000-0000-7000-8000-000000000001', bucket: 'agent-files', path: 'agent-inputs/x.txt' }
const digest = { kind: 'content_addressed', algo: 'sha256', digest: '0'.repeat(64) } as const

function arrived(parts: readonly Part[]): InboundEvent {
  return {
    kind: 'message',
    message: { ...aMessage({ parts: [...parts] }), raw: null },
    agent: 'demo',
    semanticId: 'm1',
    version: '0',
    isSenderChosenId: false,
    subject: 'loopback:eve',
    thread: { candidates: ['c1'], platformVerified: true, newThreadKey: 'c1' },
    replyTo: {},
  }
}

function claim(takesFileUrls: 'own' | undefined, part: Part) {
  const asked: string[] = []
  const attachments = {
    claim: async (url: string) => {
      asked.push(url)
      return { kind: 'refused', code: 'SU_OWNER', remedy: 'upload it' } as const
    },
  }
  // The desk and the capability are all that is looked at.
  const deps = { attachments } as unknown as Parameters<typeof claimFilesOfEvents>[0]
  const at = { adapter: { capabilities: { takesFileUrls } } } as unknown as Parameters<typeof claimFilesOfEvents>[1]
  return { asked, outcome: claimFilesOfEvents(deps, at, [arrived([part])]) }
}

const kinds = ['file', 'artifact'] as const
test.each(kinds)('the id of a stored file that came with a %s is not believed', async (kind) => {
  const { outcome } = claim(undefined, { kind, bytes_ref: digest, name: 'x', attachment: theirs })
  expect(await outcome).toMatchObject({ kind: 'claimed' })
  expect(JSON.stringify(await outcome)).not.toContain(theirs.id)
})

test('an attachment id in a message does not spare its URL from being claimed', async () => {
  const url = 'https://parley.example/storage/v1/object/sign/agent-files/agent-inputs/x.txt?token=t'
  const { asked, outcome } = claim('own', { kind: 'file', bytes_ref: { kind: 'url', url }, attachment: theirs })
  expect(await outcome).toMatchObject({ kind: 'refused', code: 'SU_OWNER' })
  expect(asked).toEqual([url])
})
