// The Telegram cases, as rows.
import { conform } from '../conform.ts'
import { ingressCases } from './ingress-cases.ts'
import { liveCases } from './live-cases.ts'
import { normalizationCases } from './normalization-cases.ts'
import { outboundCases } from './outbound-cases.ts'
import { pollingCases } from './polling-cases.ts'
import { richCases } from './rich-cases.ts'

conform('Telegram at the door', ingressCases)
conform('Telegram polled', pollingCases)
conform('Telegram in', normalizationCases)
conform('Telegram out', outboundCases)
conform('Telegram, rich', richCases)
conform('Telegram while it grows', liveCases)
