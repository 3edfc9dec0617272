// Threads that only the gateway names: what a sender calls by such a name is called otherwise.
import { expect, test } from 'vitest'
import { escapeGatewayCommandThreadNames, toGatewayCommandThread } from '../../../src/inbound/chat-command.ts'

const thread = {
  candidates: ['~control a'],
  platformVerified: false,
  newThreadKey: '~control b',
  aliases: ['~control c', 'd'],
}

test('a sender who names a thread of the gateway gets another one, by its candidates, its key and its aliases', () => {
  expect(escapeGatewayCommandThreadNames(thread)).toEqual({
    candidates: ['~~control a'],
    platformVerified: false,
    newThreadKey: '~~control b',
    aliases: ['~~control c', 'd'],
  })
})

test('a command goes beside its thread, by all of its names', () => {
  const named = { candidates: ['a'], platformVerified: true, newThreadKey: 'b', aliases: ['c'] }
  expect(toGatewayCommandThread(named)).toEqual({
    candidates: ['~control a'],
    platformVerified: true,
    newThreadKey: '~control b',
    aliases: ['~control c'],
  })
})
