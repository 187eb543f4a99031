/** Entry point of a product process that waits for milliseconds between the attempts of what it asks others for. */
import { defaultRunPolicy } from '../../src/temporal/contracts/automation.ts';
import { defaultMessagePolicy } from '../../src/temporal/contracts/conversation.ts';
import { defaultFollowPolicy } from '../../src/temporal/contracts/followed-integrations.ts';
import { defaultGenerationPolicy } from '../../src/temporal/contracts/studio.ts';
import { defaultVoiceCallPolicy } from '../../src/temporal/contracts/voice.ts';

for (const { retry } of [
  defaultRunPolicy.modelCall,
  defaultMessagePolicy,
  defaultGenerationPolicy,
  defaultVoiceCallPolicy,
  defaultFollowPolicy,
]) {
  retry.initialIntervalMs = 50;
}
await import('../../workers/main.ts');
