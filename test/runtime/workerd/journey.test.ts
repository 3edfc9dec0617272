// The journey in workerd: fetch stores and sends a wake, the local queue delivers it, the consumer drains.
import { exports } from 'cloudflare:workers'
import { declareJourney } from '../journey.ts'
import { describeInWorkerd, harnessOf } from './harness.ts'

describeInWorkerd('the journey in workerd', () => {
  declareJourney(harnessOf((request) => exports.default.fetch(request)))
})
