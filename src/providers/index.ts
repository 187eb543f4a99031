// What other parts use of providers: the ports, their registries, and the examination of media.

export { examineImage } from './media/images/examination.ts';
export {
  ImageUnusable,
  type JobImage,
  type MadeMedia,
  type MediaJob,
  type MediaModel,
  SubmissionLost,
} from './media/media-ports.ts';
export { type MediaRegistry, mediaModelFor } from './media/media-registry.ts';
export type { ProviderServices } from './part.ts';
export type { Call, JsonSchema, TextAnswer, TextModel, TextRequest } from './ports.ts';
export type { ProviderRegistry } from './registry.ts';
export { examineAudio } from './speech/audio/audio-examination.ts';
export type { SpeechRequest, Transcript } from './speech/voice-ports.ts';
export type { VoiceRegistry } from './speech/voice-registry.ts';
export type { ChatAnswer, ChatMessage, ChatModel, ChatRequest, ToolDeclaration } from './text/chat-ports.ts';
