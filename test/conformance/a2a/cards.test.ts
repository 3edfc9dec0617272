// a2a 11.1.
import { cardCases } from './card-cases.ts'
import { conformA2a } from './scene.ts'

conformA2a('A2A cards', cardCases)
