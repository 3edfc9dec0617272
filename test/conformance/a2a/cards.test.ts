// A2A cases: cards.
import { cardCases } from './card-cases.ts'
import { conformA2a } from './scene.ts'

conformA2a('A2A cards', cardCases)
