// A2A cases: cards.

import { conformA2a } from './a2a-setup.ts'
import { cardCases } from './card-cases.ts'

conformA2a('A2A cards', cardCases)
