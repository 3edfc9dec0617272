// The channel keeps the contract.
import { describe, test } from 'node:test'
import { adapterContract } from 'parley-gateway/testing'
import { fixtures } from './fixtures.ts'

adapterContract(fixtures, { describe, test })
