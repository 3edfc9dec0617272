// Every crash test but the one that runs each time.
import { expect, test } from 'vitest'
import { describeCrashTests, knownCrashTests } from './describe-crash-tests.ts'

const others = [
  'loss',
  'shapes',
  'burst',
  'replicas',
  'embedded',
  'long',
  'flood',
  'hang',
  'outage',
  'poison',
  'upgrade',
  'approval',
  'cancel',
  'a2a-resume',
  'a2a-hops',
  'mail',
  'fediverse',
  'strangers',
]

test('every crash test of the command is run, here or in short.test.ts', async () => {
  expect([...others, 'steps'].toSorted()).toEqual((await knownCrashTests()).toSorted())
}, 60_000)

describeCrashTests(others)
